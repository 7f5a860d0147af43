/* Stands in for librung.so where a test is about finding it, not about malloc. */
extern const int stand_in;
const int stand_in = 1;
