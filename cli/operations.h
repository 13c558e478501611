// What `tenon ops` shows.
#pragma once

namespace tenon {

/// Print every elementwise function and every builder that graph text knows, with what it does.
void list_operations();

}  // namespace tenon
