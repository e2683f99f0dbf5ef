// Files of web/ and of the chart library, compiled in by cmake/embed.cmake.
#pragma once

#include <string_view>

namespace tautline::pipeline::report {

/// The bytes of an asset. `name` is as in web/assets.cmake; an unknown one gives an empty view.
std::string_view asset(std::string_view name);

}  // namespace tautline::pipeline::report
