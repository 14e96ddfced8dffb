"""All of Redis: key names, scripts, and one method per transition."""
