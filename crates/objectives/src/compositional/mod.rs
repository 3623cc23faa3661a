//! X-risks: an outer function of an inner mean of a surrogate, one mechanism for SONG, AP, P@K and their kin.
