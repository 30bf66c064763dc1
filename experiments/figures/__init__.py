"""One file for each experiment.

Every module here defines an ``EXPERIMENT``, and ``experiments.catalogue`` finds it. The file's name
is the name of the experiment. The first line of its docstring is what the list of experiments says.
"""
