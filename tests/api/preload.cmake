# How the programs of tests/api and tests/fork are built and run: with no builtin knowledge of any function
# (clang drops an unused valloc as readily as an unused malloc), with the shared library preloaded, and under
# timeout(1), so that a hang is a failure and not a stuck build machine.
#
# What shows how the heap is built (chunk sizes, moves of the break, arenas) is true of the profile `glibc` and
# runs in it alone: rung_test.  What a program may expect of any malloc is run in both profiles:
# rung_contract_test, which can also repeat it with each mechanism of `default` off.

find_package(Threads REQUIRED)

set(RUNG_TEST_CXX_WARNINGS ${RUNG_WARNINGS})
list(REMOVE_ITEM RUNG_TEST_CXX_WARNINGS -Wstrict-prototypes -Wmissing-prototypes)

# rung_test_program(name source...)
function(rung_test_program name)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE -fno-builtin
    $<$<COMPILE_LANGUAGE:C>:${RUNG_WARNINGS}> $<$<COMPILE_LANGUAGE:CXX>:${RUNG_TEST_CXX_WARNINGS};-fsized-deallocation>)
  target_compile_definitions(${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# rung_test(test LABEL label [PROFILE name] [OPTIONS name=value...] [TIMEOUT seconds] [PRELOAD libraries...]
#           [ENV name=value...] COMMAND ...)
# PROFILE is glibc unless given; OPTIONS are added to it.  PRELOAD is librung.so unless given; PRELOAD NONE runs
# the command as it is.
function(rung_test test)
  cmake_parse_arguments(T "" "LABEL;PROFILE;TIMEOUT" "OPTIONS;PRELOAD;ENV;COMMAND" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  if(NOT T_PROFILE)
    set(T_PROFILE glibc)
  endif()
  if(NOT T_PRELOAD)
    set(T_PRELOAD $<TARGET_FILE:rung_shared>)
  endif()
  set(options profile=${T_PROFILE} ${T_OPTIONS})
  list(JOIN options "," options)
  set(environment RUNG_OPTIONS=${options} ${T_ENV})
  if(NOT T_PRELOAD STREQUAL "NONE")
    list(JOIN T_PRELOAD ":" preload)
    list(APPEND environment LD_PRELOAD=${preload})
  endif()
  add_test(NAME ${test} COMMAND timeout -k 5 ${T_TIMEOUT} env ${environment} ${T_COMMAND})
  math(EXPR limit "${T_TIMEOUT} + 30")
  set_tests_properties(${test} PROPERTIES LABELS ${T_LABEL} SKIP_RETURN_CODE 77 TIMEOUT ${limit})
endfunction()

# What profile `default` has beyond `glibc`, one mechanism off at a time: no runs; no large blocks in their
# windows; no depot; no purge by age; no deepening of the thread's cache; no huge pages; no pages before they are touched; an arena for each thread;
# no thread's cache; no freed mapping waits; memory of arenas goes back from their ends only; arenas grow and shrink
# by what is missing; the thresholds never fall.
set(RUNG_EACH_OFF runs=off run_block_max=0 depot_bytes=0 purge_delay=0 tcache_depth_max=16 run_huge_from=0 run_populate=0
  arena_on_demand=off tcache_count=0 map_keep=0 arena_keep=0 top_step=0 threshold_decay=0)

# rung_contract_test(test [EACH_OFF] [arguments of rung_test but PROFILE...])
# Registers `test` in the profile glibc and `test.default`; with EACH_OFF, and the label each_off, also
# `test.NAME_VALUE` in the profile default for every one of the above.  Those are short: RUNG_TEST_SHARE is set.
function(rung_contract_test test)
  cmake_parse_arguments(C "EACH_OFF" "LABEL" "OPTIONS;ENV" ${ARGN})
  rung_test(${test} LABEL ${C_LABEL} PROFILE glibc OPTIONS ${C_OPTIONS} ENV ${C_ENV} ${C_UNPARSED_ARGUMENTS})
  rung_test(${test}.default LABEL ${C_LABEL} PROFILE default OPTIONS ${C_OPTIONS} ENV ${C_ENV} ${C_UNPARSED_ARGUMENTS})
  if(C_EACH_OFF)
    foreach(off ${RUNG_EACH_OFF})
      string(REPLACE "=" "_" variant ${off})
      rung_test(${test}.${variant} LABEL each_off PROFILE default OPTIONS ${C_OPTIONS} ${off}
        ENV ${C_ENV} RUNG_TEST_SHARE=5 ${C_UNPARSED_ARGUMENTS})
    endforeach()
  endif()
endfunction()
