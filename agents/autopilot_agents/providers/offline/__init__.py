"""A repair program in the builder's role: fault localisation by coverage, then AST edit search.

`provider.py` answers for the roles; all else runs as one command in the sandbox, in the interpreter of the
repository's tests, and therefore imports nothing but the standard library and pytest.

    spec.py         what is searched for, as it travels on the command line
    pytest_args.py  what a check's command line means to pytest
    source.py       one file: offsets, parents, units that can be replaced alone
    scope.py        names, attributes and statements that an edit may borrow
    templates/      edits by kind
    localise.py     which lines are suspicious
    candidates.py   edits in order of promise, each tree once
    overlay.py      changed source for the importer, without a write to the worktree
    server.py       forks a child for each job, ends it at its limits
    sessions.py     what a child does: a pytest session, or some tests of a loaded one
    trial.py        candidates in parallel, verdicts in order
    search.py       the command
"""
