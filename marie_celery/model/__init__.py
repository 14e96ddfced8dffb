"""The pure core: jobs, runs, graphs, states, retries, deadlines. No I/O, no clock, no randomness."""
