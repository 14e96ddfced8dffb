"""Runs a DAG, or any other work, in this process: no Redis, no worker, by priority within so many slots.

    events.py     what can happen to a run, and what has to be done then
    jobs.py       a run's jobs, read from the submission that Redis would get
    graph.py      the pure core: what follows when a job ends
    engine.py     the pure core: events in, effects out
    conductor.py  one run on its way: the engine, what is ready, what waits for its time
    crew.py       drives a run with threads (`dag.run_local`)
    tickets.py    drives a run on a `GlobalScheduler` (`dag.run_local_async`)
    scheduler.py  `GlobalScheduler`: bounded or unbounded, for coroutines and plain functions
"""
