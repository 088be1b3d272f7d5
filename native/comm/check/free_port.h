// A port of this machine's loopback that nobody has: of the build's check and of tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

namespace seekrl::comm {

inline int free_port() {
  const int socket_id = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool is_bound = bind(socket_id, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                        getsockname(socket_id, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(socket_id);
  require(is_bound, ErrorCode::kIo, "expected a free port on this machine");
  return ntohs(address.sin_port);
}

}  // namespace seekrl::comm
