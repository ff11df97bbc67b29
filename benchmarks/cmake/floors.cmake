# The floors of common/, from the ground up, and the programs that stand on them.
#
# A floor is a static library. It finds the headers of its own folder and of the floors that it uses, and no others: an include of a higher
# floor does not compile. A floor must be added before the floors that use it, so that there is no circle.
#
# With the unit tests every floor is built twice. The twin, whose name ends in _artificial, has the same sources and a clock whose true time
# the tests know.
set(floor_suffixes "")
if(CAMPAIGN_TESTS)
  list(APPEND floor_suffixes _artificial)
endif()

# add_floor(NAME FOLDER <folder of common/> SOURCES <files without .c> [USES <floors>] [LIBRARIES <targets that it and its users link>]
#           [PRIVATE_LIBRARIES <targets that it alone compiles with>])
# The target is campaign_NAME.
function(add_floor name)
  cmake_parse_arguments(PARSE_ARGV 1 floor "" "FOLDER" "SOURCES;USES;LIBRARIES;PRIVATE_LIBRARIES")
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/common/${floor_FOLDER}")
  list(TRANSFORM floor_SOURCES REPLACE "(.+)" "${folder}/\\1.c")
  foreach(suffix IN ITEMS "" ${floor_suffixes})
    set(target campaign_${name}${suffix})
    add_library(${target} STATIC ${floor_SOURCES})
    add_dependencies(${target} build_info)
    target_include_directories(${target} PUBLIC "${folder}" PRIVATE "${build_info_directory}")
    target_link_libraries(${target} PUBLIC campaign_options ${floor_LIBRARIES} PRIVATE ${floor_PRIVATE_LIBRARIES})
    foreach(used IN LISTS floor_USES)
      if(NOT TARGET campaign_${used}${suffix})
        message(FATAL_ERROR "The floor ${name} uses ${used}, which does not stand below it")
      endif()
      target_link_libraries(${target} PUBLIC campaign_${used}${suffix})
    endforeach()
  endforeach()
endfunction()

# add_benchmark(NAME SOURCES <files> USES <floors> [LIBRARIES <other targets>] [ARTIFICIAL])
# Adds a program: its target, its installation, and its line in programs.txt, the list of the programs. ARTIFICIAL: with the unit tests
# its twin is built too.
function(add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 benchmark "ARTIFICIAL" "" "SOURCES;USES;LIBRARIES")
  set(suffixes "")
  if(benchmark_ARTIFICIAL)
    set(suffixes ${floor_suffixes})
  endif()
  foreach(suffix IN ITEMS "" ${suffixes})
    set(target ${name}${suffix})
    add_executable(${target} ${benchmark_SOURCES})
    add_dependencies(${target} build_info)
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${build_info_directory}")
    list(TRANSFORM benchmark_USES REPLACE "(.+)" "campaign_\\1${suffix}" OUTPUT_VARIABLE floors)
    target_link_libraries(${target} PRIVATE ${floors} ${benchmark_LIBRARIES})
  endforeach()
  install(TARGETS ${name} RUNTIME DESTINATION bin)
  set_property(GLOBAL APPEND PROPERTY campaign_programs ${name})
endfunction()

# Writes programs.txt. Call it after the last add_benchmark.
function(write_programs path)
  get_property(names GLOBAL PROPERTY campaign_programs)
  list(SORT names)
  list(JOIN names "\n" lines)
  file(CONFIGURE OUTPUT "${path}" CONTENT "${lines}\n" @ONLY)
endfunction()
