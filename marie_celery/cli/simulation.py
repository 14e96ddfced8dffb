"""`simulate`: planners compared in virtual time. Needs neither an app nor Redis, unless the cluster's own runs are asked for."""
