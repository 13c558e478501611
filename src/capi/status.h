// From exceptions to status codes: nothing is thrown out of a C function.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "tenon/c.h"
#include "tenon/cancel.h"
#include "tenon/error.h"

namespace tenon::capi {

/// Keeps what tenon_error() says on this thread, and returns the status.
tenon_status failed(tenon_status status, std::string_view message) noexcept;

/// Runs `body`, whose Errors are of the kind `wrong`.
template <class Body>
tenon_status guard(tenon_status wrong, const Body& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (const Cancelled& error) {
    return failed(TENON_CANCELLED, error.what());
  } catch (const Error& error) {
    return failed(wrong, error.what());
  } catch (const std::bad_alloc&) {
    return failed(TENON_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const std::exception& error) {
    return failed(TENON_INTERNAL, error.what());
  } catch (...) {
    return failed(TENON_INTERNAL, "something was thrown that is no exception");
  }
}

/// Error: `pointer` is null. `what` is the argument's name.
void require(const void* pointer, std::string_view what);

}  // namespace tenon::capi
