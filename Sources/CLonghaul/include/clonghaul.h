#ifndef CLONGHAUL_H
#define CLONGHAUL_H
#include <curl/curl.h>

#include "linux_shim.h"
#endif
