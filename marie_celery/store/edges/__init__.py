"""Edges of a flow graph that join processes: bounded lists in Redis.

    with RedisEdges(connect(url), "marie") as edges:
        scheduler.connect("camera:out", "reader:in", edge=edges.edge, remote=True)
        scheduler.run()

Both processes write the same line; each has the node of its own end. What an edge holds survives both.

Every step is one script. `take` moves a message into the hands of its consumer, `settle` forgets it. A consumer
has a lease that a thread renews, so a long callback does not lose it; if the process dies the lease ends, and
whoever looks at the edge next (either end does, on a slow cadence) puts back what the dead one held. So every
message that was accepted is handled at least once, and twice only if a consumer died or was away for longer than
its lease. A producer that got no answer repeats its put under the same token, which counts once.
"""

from marie_celery.store.edges.codec import RemoteError
from marie_celery.store.edges.edge import RedisEdge
from marie_celery.store.edges.hub import RedisEdges
from marie_celery.store.edges.keys import EdgeKeys

__all__ = ["EdgeKeys", "RedisEdge", "RedisEdges", "RemoteError"]
