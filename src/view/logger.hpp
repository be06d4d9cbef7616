#pragma once

// Who logs includes this; who only hands a logger on needs no more than view/console.hpp.
#include <spdlog/logger.h>
