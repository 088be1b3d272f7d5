// How a kernel is called: by its name, which finds the version for this processor.
#pragma once

namespace seekrl::kernels {

// The version in use of the kernel whose plain version this is; dispatch.cpp has one for each kernel of table.h.
template <auto kReference>
decltype(kReference) version();

template <auto kReference, class Signature = decltype(kReference)>
struct Kernel;

template <auto kReference, class Result, class... Arguments>
struct Kernel<kReference, Result (*)(Arguments...)> {
  Result operator()(Arguments... arguments) const { return version<kReference>()(arguments...); }
};

}  // namespace seekrl::kernels

// After the declaration of reference::name, which has the only signature: makes `name` call the version in use.
#define SEEKRL_KERNEL(name)                               \
  template <>                                             \
  decltype(&reference::name) version<&reference::name>(); \
  inline constexpr Kernel<&reference::name> name
