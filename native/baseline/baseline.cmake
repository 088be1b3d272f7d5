# Lets libraries that are linked here load wherever there are glibc 2.28 and the libstdc++ of g++ 8, or later ones.
# A linker writes down the newest version that a symbol has on its own machine. Of what moved between libraries since, old
# versions stand in empty libraries of the old names, which are linked before the system's; the rest is in younger.c.
# scripts/pack refuses what is younger still.
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h SEEKRL_HAS_GLIBC)

# What a library links to be of the baseline: nothing where this is no matter.
add_library(seekrl_baseline INTERFACE)

# seekrl_old_library(libdl.so.2 GLIBC_2.2.5 dlopen dlsym GLIBC_2.3.4 dlmopen): makes one. Not for a name that the linker
# still finds a library of: of two with one name it reads the first alone.
function(seekrl_old_library soname)
  string(MAKE_C_IDENTIFIER seekrl_old_${soname} target)
  foreach(word ${ARGN})
    if(word MATCHES "^GLIBC_")
      string(APPEND versions "}; ${word} { global:")
    else()
      string(APPEND versions " ${word};")
      string(APPEND functions "void ${word}(void) {}\n")
    endif()
  endforeach()
  string(REGEX REPLACE "^}; " "" versions "${versions} };\n")
  set(source ${CMAKE_BINARY_DIR}/baseline/${soname})
  file(CONFIGURE OUTPUT ${source}.c CONTENT "${functions}")
  file(CONFIGURE OUTPUT ${source}.map CONTENT "${versions}")
  add_library(${target} SHARED ${source}.c)
  set_target_properties(${target} PROPERTIES NO_SONAME ON C_VISIBILITY_PRESET default LINK_DEPENDS ${source}.map
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/baseline)
  target_compile_options(${target} PRIVATE -fno-builtin -w)
  target_link_options(${target} PRIVATE -nostdlib -Wl,-soname,${soname} -Wl,--version-script,${source}.map)
  target_link_libraries(seekrl_baseline INTERFACE ${target})
  set(SEEKRL_OLD_LIBRARIES ${SEEKRL_OLD_LIBRARIES} $<TARGET_FILE:${target}> PARENT_SCOPE)
endfunction()

if(SEEKRL_HAS_GLIBC AND NOT SEEKRL_SANITIZE)
  # The version that everything has that was there when glibc came to the processor.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(first GLIBC_2.2.5)
    set(later GLIBC_2.3.4)
  else()
    set(first GLIBC_2.17)
    set(later)
  endif()
  seekrl_old_library(libdl.so.2 ${first} dladdr dlclose dlerror dlopen dlsym dlvsym ${later} dlmopen)
  seekrl_old_library(librt.so.1 ${first} shm_open shm_unlink)
  set(threads pthread_condattr_setpshared pthread_create pthread_detach pthread_getspecific pthread_join
      pthread_key_create pthread_key_delete pthread_kill pthread_mutex_trylock pthread_once pthread_setspecific
      sem_destroy sem_init sem_post sem_timedwait sem_trywait sem_wait)
  foreach(lock mutexattr:destroy:init:setpshared:settype rwlockattr:destroy:init:setpshared
      rwlock:destroy:init:rdlock:timedrdlock:timedwrlock:tryrdlock:trywrlock:unlock:wrlock
      spin:destroy:init:lock:trylock:unlock)
    string(REPLACE ":" ";" calls ${lock})
    list(POP_FRONT calls kind)
    list(TRANSFORM calls PREPEND pthread_${kind}_)
    list(APPEND threads ${calls})
  endforeach()
  seekrl_old_library(libpthread.so.0 ${first} ${threads})

  add_library(seekrl_younger STATIC native/baseline/younger.c)
  target_compile_options(seekrl_younger PRIVATE -Wall -Wextra $<$<BOOL:${SEEKRL_WERROR}>:-Werror> -fexceptions
    -fno-builtin -DSEEKRL_FIRST=\"${first}\")
  target_link_libraries(seekrl_baseline INTERFACE seekrl_younger)
endif()
