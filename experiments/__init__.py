"""The paper's experiments, and those of S3C2's defaults. ``python -m experiments`` lists them.

``figures`` has one file for each experiment: which runs it needs, and how it draws them.
``command_line`` runs them, ``training`` trains what has no row yet, ``ledger`` keeps the rows,
``scoring`` scores a model, ``plots`` draws. ``page`` writes the marked parts of pages in docs: the
``tables`` of numbers, the ``claim_tables`` with the verdicts of the ``judges`` and
``labnet_judges`` on the paper's ``claims``, what they say ``in_short``, and what was ``earlier``;
and ``results_page`` docs/results.md, with the ``targets`` that the defaults were to reach.
"""
