# How the programs of tests/api and tests/fork are built and run: with no builtin knowledge of any function
# (clang drops an unused valloc as readily as an unused malloc), with the shared library preloaded in the
# profile `glibc`, and under timeout(1), so that a hang is a failure and not a stuck build machine.

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

# rung_test(test LABEL label [TIMEOUT seconds] [PRELOAD libraries...] [ENV name=value...] COMMAND ...)
# PRELOAD is librung.so unless given; PRELOAD NONE runs the command as it is.
function(rung_test test)
  cmake_parse_arguments(T "" "LABEL;TIMEOUT" "PRELOAD;ENV;COMMAND" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  if(NOT T_PRELOAD)
    set(T_PRELOAD $<TARGET_FILE:rung_shared>)
  endif()
  set(environment RUNG_OPTIONS=profile=glibc ${T_ENV})
  if(NOT T_PRELOAD STREQUAL "NONE")
    list(JOIN T_PRELOAD ":" preload)
    list(APPEND environment LD_PRELOAD=${preload})
  endif()
  add_test(NAME ${test} COMMAND timeout -k 5 ${T_TIMEOUT} env ${environment} ${T_COMMAND})
  math(EXPR limit "${T_TIMEOUT} + 30")
  set_tests_properties(${test} PROPERTIES LABELS ${T_LABEL} SKIP_RETURN_CODE 77 TIMEOUT ${limit})
endfunction()
