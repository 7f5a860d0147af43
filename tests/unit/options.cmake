rung_unit_test(test_options test_options.c)
rung_unit_test(test_parse test_parse.c)
rung_unit_test(test_threshold test_threshold.c)
