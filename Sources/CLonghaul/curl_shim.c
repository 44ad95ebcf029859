#include "clonghaul.h"
