// A file with arrays and numbers, made with HDF5 itself.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

namespace tautline::formats::photon_hdf5 {

// Closes what it opens at the end.
class Hdf5File {
 public:
  explicit Hdf5File(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
        links_(H5Pcreate(H5P_LINK_CREATE)) {
    H5Pset_create_intermediate_group(links_, 1);
  }
  ~Hdf5File() {
    H5Pclose(links_);
    H5Fclose(file_);
  }
  template <class T>
  void array(const std::string& name, hid_t type, const std::vector<T>& values) {
    const hsize_t size = values.size();
    write(name, type, H5Screate_simple(1, &size, nullptr), values.data());
  }
  void number(const std::string& name, double value) {
    write(name, H5T_NATIVE_DOUBLE, H5Screate(H5S_SCALAR), &value);
  }

 private:
  void write(const std::string& name, hid_t type, hid_t space, const void* values) {
    const hid_t set =
        H5Dcreate2(file_, name.c_str(), type, space, links_, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Sclose(space);
  }
  hid_t file_, links_;
};

}  // namespace tautline::formats::photon_hdf5
