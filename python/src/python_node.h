// A node of a graph whose work is a Python object's: the adapter of nodes.py around what the user wrote.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "bindings.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/node_type.h"

namespace tautline::python {

/// The first exception that a Python node of a run raised: the caller of the run gets that exception itself.
class Raised {
 public:
  ~Raised();
  /// With the interpreter's lock, like `raise`.
  void keep(const std::string& node, const nb::python_error& error);
  /// Whether it is of the node whose error ended the run ("": any).
  bool of(const std::string& node) const;
  /// Gives it away: its traceback holds the call of the run, which holds this.
  [[noreturn]] void raise();

 private:
  mutable std::mutex mutex_;
  std::string node_;
  nb::object exception_;
};

std::unique_ptr<engine::Node> make_python_node(nb::object adapter, std::string name,
                                               std::shared_ptr<Raised> raised);

/// The type of one Python node of a pipeline, "python:NAME".
pipeline::NodeType python_node_type(const std::string& name, std::size_t inputs, nb::object adapter,
                                    std::shared_ptr<Raised> raised);

}  // namespace tautline::python
