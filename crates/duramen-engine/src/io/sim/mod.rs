//! A world in memory that a test controls.
