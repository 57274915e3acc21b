//! Empty: what there is are its tests.
