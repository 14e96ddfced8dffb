"""How a booked job reaches its Celery queue.

`atomic`: broker and state share a Redis, so the dispatch script pushes the message itself.
`publish`: any other broker; the message is published after the claim, and the lease covers a crash in between.
"""
