# Writes build_info.h: run at every build, leaves the file alone when nothing changed.
set(COMMIT "unknown")
set(DIRTY -1)
find_program(GIT git)
if(GIT)
  # Not the commit of some other repository that an unpacked tarball happens to lie in: this very file must be tracked.
  execute_process(COMMAND "${GIT}" ls-files --error-unmatch CMakeLists.txt WORKING_DIRECTORY "${SOURCE_DIRECTORY}"
    RESULT_VARIABLE tracked OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND "${GIT}" rev-parse HEAD WORKING_DIRECTORY "${SOURCE_DIRECTORY}"
    RESULT_VARIABLE result OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(tracked EQUAL 0 AND result EQUAL 0)
    set(COMMIT "${head}")
    execute_process(COMMAND "${GIT}" status --porcelain --untracked-files=no -- . WORKING_DIRECTORY "${SOURCE_DIRECTORY}"
      RESULT_VARIABLE result OUTPUT_VARIABLE changes ERROR_QUIET)
    if(result EQUAL 0)
      set(DIRTY 0)
      if(NOT changes STREQUAL "")
        set(DIRTY 1)
      endif()
    endif()
  endif()
endif()
foreach(text COMPILER FLAGS)
  string(REPLACE "\\" "\\\\" ${text} "${${text}}")
  string(REPLACE "\"" "\\\"" ${text} "${${text}}")
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/build_info.h.in" "${OUTPUT}" @ONLY)
