// Each conversion looks at the type first: node-addon-api's casts do not.
#include "node/values.h"

#include <array>

#include "base/error.h"

namespace seekrl::node {

namespace {

template <class Array>
Array typed_array(const Napi::Value& value, napi_typedarray_type type, const char* name, const char* expected) {
  require(value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == type, ErrorCode::kArgument, name,
          ": expected ", expected);
  return value.As<Array>();
}

}  // namespace

double to_number(const Napi::Value& value, const char* name) {
  require(value.IsNumber(), ErrorCode::kArgument, name, ": expected a number");
  return value.As<Napi::Number>().DoubleValue();
}

int64_t to_integer(const Napi::Value& value, const char* name) {
  require(value.IsNumber(), ErrorCode::kArgument, name, ": expected a number");
  return value.As<Napi::Number>().Int64Value();
}

bool to_bool(const Napi::Value& value, const char* name) {
  require(value.IsBoolean(), ErrorCode::kArgument, name, ": expected true or false");
  return value.As<Napi::Boolean>().Value();
}

std::string to_text(const Napi::Value& value, const char* name) {
  require(value.IsString(), ErrorCode::kArgument, name, ": expected a string");
  // Most texts fit into a small buffer, and one call is cheaper than asking for the length first.
  std::array<char, 4096> buffer;
  size_t num_bytes = 0;
  const auto status = napi_get_value_string_utf8(value.Env(), value, buffer.data(), buffer.size(), &num_bytes);
  constexpr size_t kMaxCharacterBytes = 4;
  if (status == napi_ok && num_bytes < buffer.size() - kMaxCharacterBytes) return {buffer.data(), num_bytes};
  return value.As<Napi::String>().Utf8Value();
}

std::vector<std::string> to_texts(const Napi::Value& value, const char* name) {
  require(value.IsArray(), ErrorCode::kArgument, name, ": expected a list of strings");
  const auto list = value.As<Napi::Array>();
  std::vector<std::string> texts(list.Length());
  for (uint32_t i = 0; i < list.Length(); ++i) texts[i] = to_text(list.Get(i), name);
  return texts;
}

std::vector<int64_t> to_ids(const Napi::Value& value, const char* name) {
  const auto array = typed_array<Napi::Int32Array>(value, napi_int32_array, name, "an Int32Array");
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<float> to_floats(const Napi::Value& value, const char* name) {
  const auto array = typed_array<Napi::Float32Array>(value, napi_float32_array, name, "a Float32Array");
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::vector<double> to_doubles(const Napi::Value& value, const char* name) {
  const auto array = typed_array<Napi::Float64Array>(value, napi_float64_array, name, "a Float64Array");
  return {array.Data(), array.Data() + array.ElementLength()};
}

std::string to_bytes(const Napi::Value& value, const char* name) {
  const auto array = typed_array<Napi::Uint8Array>(value, napi_uint8_array, name, "a Uint8Array");
  return {reinterpret_cast<const char*>(array.Data()), array.ByteLength()};
}

Napi::Object to_object(const Napi::Value& value, const char* name) {
  require(value.IsObject(), ErrorCode::kArgument, name, ": expected an object");
  return value.As<Napi::Object>();
}

double number_of(const Napi::Object& object, const char* name) { return to_number(object.Get(name), name); }

int64_t integer_of(const Napi::Object& object, const char* name) { return to_integer(object.Get(name), name); }

bool bool_of(const Napi::Object& object, const char* name) { return to_bool(object.Get(name), name); }

std::string text_of(const Napi::Object& object, const char* name) { return to_text(object.Get(name), name); }

Napi::Value to_float32_array(Napi::Env env, const std::vector<float>& values) {
  return to_typed_array<Napi::Float32Array>(env, values);
}

}  // namespace seekrl::node
