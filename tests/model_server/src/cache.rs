//! What a prompt cache reads and writes, from the bodies alone.
