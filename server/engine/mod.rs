//! Performs what the turn decides: the only owner of tasks, time and cancellation.
