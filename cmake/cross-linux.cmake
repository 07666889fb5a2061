# Toolchain file for a foreign Linux with Debian's cross compilers, its programs run by qemu-user:
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/cross-linux.cmake -DNIDUS_CROSS=s390x-linux-gnu ...
# `./dev test-cross` does that.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES NIDUS_CROSS)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${NIDUS_CROSS}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${NIDUS_CROSS}-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L /usr/${NIDUS_CROSS})
