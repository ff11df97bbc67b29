# Writes build_info.h. It runs at every build and leaves the file as it is when nothing has changed.
set(COMMIT "unknown")
set(DIRTY -1)
find_program(GIT git)
if(GIT)
  # In a git hook, these variables may name another repository.
  foreach(variable DIR WORK_TREE INDEX_FILE CEILING_DIRECTORIES COMMON_DIR OBJECT_DIRECTORY NAMESPACE PREFIX
      ALTERNATE_OBJECT_DIRECTORIES DISCOVERY_ACROSS_FILESYSTEM)
    unset(ENV{GIT_${variable}})
  endforeach()
  # An unpacked tarball may lie in some other repository, whose commit is not the one that is built.
  execute_process(COMMAND "${GIT}" rev-parse --show-toplevel WORKING_DIRECTORY "${SOURCE_DIRECTORY}"
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(top "${top}" REALPATH)
  get_filename_component(clone "${SOURCE_DIRECTORY}/.." REALPATH)
  execute_process(COMMAND "${GIT}" rev-parse HEAD WORKING_DIRECTORY "${SOURCE_DIRECTORY}"
    RESULT_VARIABLE result OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(top STREQUAL clone AND result EQUAL 0)
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
