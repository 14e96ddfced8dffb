"""The same work on marie_celery and on its peers.

`systems.py` says how each is installed and started, `apps/` holds what each of them runs, `stage.py` plays one round of
one system, and the rest is arithmetic and printing.
"""
