//! What people see.
