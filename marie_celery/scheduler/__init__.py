"""The scheduler process: chooses what runs next and looks after what nobody else does."""
