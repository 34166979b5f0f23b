"""Topic models of documents with several labels.

Two levels: labels over words (phi, every token has one of its document's labels) and, in some models, topics
over labels (phi', every label token has a topic).

Batch training
    `assignments`  the labels that a document may use; Gibbs and CVB0 sweeps over the labels of tokens
    `training`     priors, state and sweeps of labelled LDA, the lower level of every model
    `links`        topics over labels, the upper level: LDA whose terms are labels
    `roots`        root distributions and concentrations of hierarchical Dirichlet processes
    `stacked`      topics over labels as two hierarchical Dirichlet processes
    `tuning`       documents held out for the mixture, the way to score and the rule for label sets

Online training
    `documents`    documents of a stream with the ids of their labels
    `state`        the state and the settings that online label models share
    `stream`       the steps of one mini-batch
    `cells`        sparse counts of terms in labels
    `open_set`     labels that are added, removed, merged and split; terms that come and go
    `progress`     scores of documents before they are learned: threshold, probabilities, mixture

Prediction
    `scores`       labels of new documents under fixed counts
"""
