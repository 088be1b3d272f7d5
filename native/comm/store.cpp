// Rendezvous: who serves, who connects, and who is missing.
#include "comm/store.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "base/error.h"

namespace seekrl::comm {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// One try to connect: a wait that nobody can cancel.
constexpr milliseconds kTry{2000}, kLeast{100};

const std::string kRefused = "refused";

std::string arrival_key(int rank) { return "arrived/" + std::to_string(rank); }

std::string missing_ranks(c10d::Store& store, const Place& place) {
  std::string names;
  int num_named = 0;
  for (int rank = 0; rank < place.size; ++rank) {
    if (store.check({arrival_key(rank)})) continue;
    if (++num_named > 8) return names + " ...";
    names += (names.empty() ? "" : ", ") + place.name_of(rank).substr(5);
  }
  return names;
}

std::string form_of(const Place& place) {
  return std::to_string(place.size) + " ranks of SeekRL " + place.version + " on libtorch " + TORCH_VERSION;
}

// Ranks that were told of another job would wait for each other until their patience ends: the first to come says what
// it is, and one that differs refuses for all.
void require_alike(c10d::Store& store, const Place& place) {
  const std::string own = form_of(place);
  store.compareSet("form", "", own);
  const std::string first = store.get_to_str("form");
  if (first == own) return;
  std::ostringstream message;
  message << place.name_of(place.rank) << ": expected " << first << ", as the first to come said, got " << own
          << ". Remedy: the same program and the same size for all, or another port for another job";
  store.set(kRefused, message.str());
  if (place.serves_store) std::this_thread::sleep_for(kTold);
  fail(ErrorCode::kArgument, message.str());
}

void await_all(c10d::Store& store, const Place& place, steady_clock::time_point deadline,
               const std::atomic<bool>& is_cancelled) {
  const int64_t times = store.add(arrival_key(place.rank), 1);
  require(
      times == 1, ErrorCode::kArgument, place.name_of(place.rank),
      ": expected one process of each rank, got another of this one. Remedy: a job of another name, or another port");
  require_alike(store, place);
  const bool is_last = store.add("arrivals", 1) == place.size;
  if (is_last) store.set("complete", "yes");
  while (!store.check({"complete"})) {
    if (store.check({kRefused})) fail(ErrorCode::kArgument, store.get_to_str(kRefused));
    require(!is_cancelled, ErrorCode::kAborted, "process group: closed before all ranks had come");
    require(steady_clock::now() < deadline, ErrorCode::kRemote, "expected ", place.size, " ranks within ",
            static_cast<double>(place.arrival.count()) / 1000, " s; missing: ", missing_ranks(store, place),
            ". Remedy: start as many processes as the size says, and see their logs");
    std::this_thread::sleep_for(milliseconds(20));
  }
}

}  // namespace

StorePointer open_store(const Place& place, milliseconds patience) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.isServer = place.serves_store;
  options.waitWorkers = false;
  options.multiTenant = true;  // a second group of this process shares the server
  options.timeout = patience;
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
    store->setTimeout(place.arrival);
    return c10::make_intrusive<c10d::PrefixStore>("seekrl/" + place.job, std::move(store));
  } catch (const c10::Error& error) {
    fail(ErrorCode::kRemote, place.name_of(place.rank), ": the job's store at ", place.address, ":", place.port,
         place.serves_store ? " cannot be served: " : " cannot be reached: ", error.what_without_backtrace(),
         ". Remedy: the address and port of rank 0's machine, free and open to the others");
  }
}

StorePointer meet(const Place& place, const std::atomic<bool>& is_cancelled) {
  const auto deadline = steady_clock::now() + place.arrival;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    try {
      auto store = open_store(place, std::clamp(left, kLeast, kTry));
      await_all(*store, place, deadline, is_cancelled);
      return store;
    } catch (const c10::Error& error) {
      // The store of the job before, on the same port, which was about to end.
      if (steady_clock::now() + kLeast >= deadline) fail(ErrorCode::kRemote, error.what_without_backtrace());
    } catch (const Error& error) {
      require(!is_cancelled, ErrorCode::kAborted, "process group: closed before all ranks had come");
      // Others may come before the one that serves them.
      const bool is_final = place.serves_store || error.code() != ErrorCode::kRemote;
      if (is_final || steady_clock::now() + kLeast >= deadline) throw;
    }
    std::this_thread::sleep_for(kLeast);
  }
}

std::optional<std::pair<std::string, std::string>> numeric_name(const sockaddr_storage& address, socklen_t length) {
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  const int code = getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof(host), port,
                               sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  if (code != 0) return std::nullopt;
  return std::pair<std::string, std::string>(host, port);
}

std::string own_address(const Place& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(place.address.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  require(code == 0, ErrorCode::kRemote, place.address, ": ", gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  // A datagram socket sends nothing when it connects, but the system chooses the address it would send from.
  const int socket_id = socket(found->ai_family, SOCK_DGRAM, 0);
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  const bool is_known = socket_id >= 0 && connect(socket_id, found->ai_addr, found->ai_addrlen) == 0 &&
                        getsockname(socket_id, reinterpret_cast<sockaddr*>(&own), &length) == 0;
  if (socket_id >= 0) close(socket_id);
  const auto name = is_known ? numeric_name(own, length) : std::nullopt;
  require(name.has_value(), ErrorCode::kRemote, place.address, ": no way from this machine to it");
  return name->first;
}

}  // namespace seekrl::comm
