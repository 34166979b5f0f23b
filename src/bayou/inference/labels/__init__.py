"""Topic models of documents with several labels.

Batch: labels that a document may use (`assignments`), training (`training`), topics over labels (`links`,
`stacked`, `roots`). Online: sparse counts (`cells`), documents (`documents`), state and updates
(`state`, `stream`), sets of labels that change (`open_set`, `terms`), progressive scores (`progress`).
Prediction: `scores`.
"""
