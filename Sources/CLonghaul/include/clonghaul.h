#ifndef CLONGHAUL_H
#define CLONGHAUL_H
#include "budget_shim.h"
#include "copy_shim.h"
#include "curl_shim.h"
#include "flow_shim.h"
#include "host_shim.h"
#include "job_shim.h"
#include "linux_shim.h"
#include "netlink_shim.h"
#include "process_shim.h"
#include "yield_shim.h"
#endif
