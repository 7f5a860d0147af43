int beside(void);
int beside(void) {
    return 1;
}
