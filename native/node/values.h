// Plain values from and to JavaScript: types are checked, everything is copied. Errors name the value.
#pragma once

#include <napi.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace seekrl::node {

// ERR_ARGUMENT for a value of another type.
double to_number(const Napi::Value& value, const char* name);
int64_t to_integer(const Napi::Value& value, const char* name);
bool to_bool(const Napi::Value& value, const char* name);
std::string to_text(const Napi::Value& value, const char* name);
std::vector<std::string> to_texts(const Napi::Value& value, const char* name);
std::vector<int64_t> to_ids(const Napi::Value& value, const char* name);     // an Int32Array
std::vector<float> to_floats(const Napi::Value& value, const char* name);    // a Float32Array
std::vector<double> to_doubles(const Napi::Value& value, const char* name);  // a Float64Array
std::string to_bytes(const Napi::Value& value, const char* name);            // a Uint8Array
Napi::Object to_object(const Napi::Value& value, const char* name);

// The member `name` of an object.
double number_of(const Napi::Object& object, const char* name);
int64_t integer_of(const Napi::Object& object, const char* name);
bool bool_of(const Napi::Object& object, const char* name);
std::string text_of(const Napi::Object& object, const char* name);

template <class Array, class T>
Napi::Value to_typed_array(Napi::Env env, const std::vector<T>& values) {
  auto array = Array::New(env, values.size());
  static_assert(sizeof(*array.Data()) == sizeof(T));
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(T));
  return array;
}
Napi::Value to_float32_array(Napi::Env env, const std::vector<float>& values);

}  // namespace seekrl::node
