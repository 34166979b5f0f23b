"""Where the public names of bayou live: those that `bayou/__init__.py` shows to type checkers."""

HOMES = {
    "BayesPAClassifier": "bayou.models.bayes_pa",
    "BayesPARegressor": "bayou.models.bayes_pa",
    "BlockChainEnsemble": "bayou.models.classifier_chain",
    "BlockClassifierChain": "bayou.models.classifier_chain",
    "Corpus": "bayou.data.corpus",
    "DataError": "bayou.data.errors",
    "Explanation": "bayou.explanation",
    "LDA": "bayou.models.lda",
    "MedLDAClassifier": "bayou.models.med_lda",
    "MedLDARegressor": "bayou.models.med_lda",
    "ModelFileError": "bayou.data.errors",
    "OnlineHDP": "bayou.models.online_hdp",
    "OnlineLDA": "bayou.models.online_lda",
    "OnlineMedLDAClassifier": "bayou.models.online_med_lda",
    "OnlineMedLDARegressor": "bayou.models.online_med_lda",
    "TextModel": "bayou.text_model",
    "ThresholdedClassifier": "bayou.thresholds.classifier",
    "Vectorizer": "bayou.data.text",
    "Vocabulary": "bayou.data.vocabulary",
    "load": "bayou.estimator",
}
