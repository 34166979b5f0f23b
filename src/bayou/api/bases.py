"""Bases of mixins for type checkers. At run time a mixin derives from no other class of bayou."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayou.api.estimator import Estimator as EstimatorBase
    from bayou.api.streaming import Streaming as StreamingBase
    from bayou.api.topics import Topics as TopicsBase
else:
    EstimatorBase = StreamingBase = TopicsBase = object

__all__ = ["EstimatorBase", "StreamingBase", "TopicsBase"]
