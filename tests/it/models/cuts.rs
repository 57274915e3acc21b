//! Every sample stream, cut at every byte.
