#ifndef CLONGHAUL_H
#define CLONGHAUL_H
#include "curl_shim.h"

#if __has_include("linux_shim.h")
#include "linux_shim.h"
#endif
#endif
