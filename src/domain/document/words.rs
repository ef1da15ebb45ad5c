//! The merge of one line by words.
