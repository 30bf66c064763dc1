"""The paper's experiments, and those of S3C2's defaults. ``python -m experiments`` lists them.

``figures`` has one file for each experiment: which runs it needs, and how it draws them.
``command_line`` runs them, ``training`` trains what has no row yet, ``ledger`` keeps the rows,
``scoring`` scores a model, ``plots`` draws. ``page`` writes the ``tables`` of docs/reproduction.md,
with the verdicts of the ``judges`` on the paper's ``claims``, and ``results_page`` docs/results.md,
with the ``targets`` that the defaults were to reach.
"""
