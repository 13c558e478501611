# Options whose names are settled and whose parts do not exist yet. Asking for one is an error, not a silent no.
foreach(part PYTHON)
  option(TENON_${part} "Reserved: not present yet" OFF)
  if(TENON_${part})
    message(STATUS "TENON_${part}: not present yet")
    message(FATAL_ERROR "TENON_${part}=ON: this part of Tenon is not present yet; configure with -DTENON_${part}=OFF")
  endif()
endforeach()
