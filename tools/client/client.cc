#include "tools/client/client.h"

#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "omni/v1/laya.grpc.pb.h"
#include "omni/v1/open_jev.grpc.pb.h"

namespace omni {
namespace {

using ChannelPtr = std::shared_ptr<grpc::Channel>;

// The methods of one worker's service, which differ in nothing but its name.
struct Service {
  std::string_view worker;
  const char* full_name;
  grpc::Status (*decide_json)(const ChannelPtr&, grpc::ClientContext*,
                              const v1::DecideJsonRequest&,
                              v1::DecideJsonResponse*);
  grpc::Status (*get_info)(const ChannelPtr&, grpc::ClientContext*,
                           v1::WorkerInfo*);
};

template <typename Api>
constexpr Service Describe(std::string_view worker) {
  return {
      .worker = worker,
      .full_name = Api::service_full_name(),
      .decide_json =
          [](const ChannelPtr& channel, grpc::ClientContext* context,
             const v1::DecideJsonRequest& request,
             v1::DecideJsonResponse* response) {
            return Api::NewStub(channel)->DecideJson(context, request,
                                                     response);
          },
      .get_info =
          [](const ChannelPtr& channel, grpc::ClientContext* context,
             v1::WorkerInfo* info) {
            return Api::NewStub(channel)->GetInfo(context, {}, info);
          },
  };
}

constexpr std::array kServices = {
    Describe<v1::CuaS1>("cua-s1"),
    Describe<v1::OpenJev>("open-jev"),
    Describe<v1::Laya>("laya"),
};

const Service* FindService(std::string_view worker) {
  for (const Service& service : kServices) {
    if (service.worker == worker) return &service;
  }
  return nullptr;
}

// `text` on one line: messages may come from anywhere.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

std::optional<google::rpc::ErrorInfo> ErrorInfoOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) return info;
  }
  return std::nullopt;
}

// omni: INVALID_ARGUMENT BAD_CRITERIA: message (question="q" limit="26")
int Report(const grpc::Status& status, std::ostream& err) {
  // The codes of both libraries have the same numbers and names.
  std::string line = absl::StatusCodeToString(
      static_cast<absl::StatusCode>(status.error_code()));
  const auto info = ErrorInfoOf(status);
  if (info.has_value()) line += " " + info->reason();
  line += ": " + status.error_message();
  if (info.has_value() && info->metadata_size() > 0) {
    // In an order of its own, since a protobuf map has none.
    const std::map<std::string, std::string> metadata(info->metadata().begin(),
                                                      info->metadata().end());
    std::string separator = " (";
    for (const auto& [key, value] : metadata) {
      absl::StrAppend(&line, separator, key, "=\"", value, "\"");
      separator = " ";
    }
    line += ")";
  }
  err << "omni: " << OneLine(std::move(line)) << std::endl;
  return status.error_code();
}

int Misused(const std::string& why, std::ostream& err) {
  err << "omni: " << OneLine(why) << "; omni --help says more" << std::endl;
  return kWrongUsage;
}

// Everything up to the end; nullopt if reading fails, as for a folder.
std::optional<std::string> ReadAll(std::istream& in) {
  std::string text;
  std::array<char, 65536> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    text.append(block.data(), in.gcount());
  }
  if (in.bad()) return std::nullopt;
  return text;
}

ChannelPtr Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  // The response of a large request may pass the default of 4 MiB.
  arguments.SetMaxReceiveMessageSize(-1);
  // A proxy of the environment is meant for other traffic than this.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

int Decide(const Service& service, const ClientOptions& options,
           grpc::ClientContext* context, std::istream& in, std::ostream& out,
           std::ostream& err) {
  const std::string& path = options.arguments[1];
  std::optional<std::string> body;
  if (path == "-") {
    body = ReadAll(in);
  } else {
    std::ifstream file(path, std::ios::binary);
    if (file.is_open()) body = ReadAll(file);
  }
  if (!body.has_value()) return Misused("cannot read " + path, err);
  v1::DecideJsonRequest request;
  request.set_body(*std::move(body));
  v1::DecideJsonResponse response;
  const grpc::Status status = service.decide_json(Connect(options.address),
                                                  context, request, &response);
  if (!status.ok()) return Report(status, err);
  out << response.body() << std::endl;
  return 0;
}

int Info(const Service& service, const ClientOptions& options,
         grpc::ClientContext* context, std::ostream& out, std::ostream& err) {
  v1::WorkerInfo info;
  const grpc::Status status =
      service.get_info(Connect(options.address), context, &info);
  if (!status.ok()) return Report(status, err);
  google::protobuf::util::JsonPrintOptions print;
  print.add_whitespace = true;
  print.always_print_primitive_fields = true;
  print.preserve_proto_field_names = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(info, &text, print);
  if (!printed.ok()) {
    err << "omni: " << OneLine(printed.ToString()) << std::endl;
    return static_cast<int>(absl::StatusCode::kInternal);
  }
  out << text << std::flush;
  return 0;
}

int Health(const Service& service, const ClientOptions& options,
           grpc::ClientContext* context, std::ostream& out, std::ostream& err) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service.full_name);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status =
      grpc::health::v1::Health::NewStub(Connect(options.address))
          ->Check(context, request, &response);
  if (!status.ok()) return Report(status, err);
  using Response = grpc::health::v1::HealthCheckResponse;
  out << Response::ServingStatus_Name(response.status()) << std::endl;
  return response.status() == Response::SERVING
             ? 0
             : static_cast<int>(absl::StatusCode::kUnavailable);
}

}  // namespace

std::string_view ClientUsage() {
  return "usage: omni decide FILE.json   answer one System One request; - "
         "reads "
         "it from\n"
         "                               standard input\n"
         "       omni info               print what the worker serves, its "
         "limits and state\n"
         "       omni health             print SERVING or NOT_SERVING\n"
         "flags: --worker=cua-s1|open-jev|laya  the service to call (cua-s1)\n"
         "       --address=HOST:PORT            where it listens, or unix:PATH "
         "(127.0.0.1:50051)\n"
         "       --deadline_ms=N                end the call after N ms; 0: "
         "only the worker's\n"
         "                                      own limit holds (0)\n"
         "exit code: the gRPC code of the call, 14 (UNAVAILABLE) if health is "
         "not SERVING,\n"
         "           64 for wrong usage\n";
}

int RunClient(const ClientOptions& options, std::istream& in, std::ostream& out,
              std::ostream& err) {
  const std::string command =
      options.arguments.empty() ? "" : options.arguments[0];
  if (command != "decide" && command != "info" && command != "health") {
    return Misused(
        command.empty() ? "no command is given" : "unknown command " + command,
        err);
  }
  const size_t expected = command == "decide" ? 2 : 1;
  if (options.arguments.size() != expected) {
    return Misused(command + (expected == 2 ? " takes one file"
                                            : " takes no further argument"),
                   err);
  }
  const Service* const service = FindService(options.worker);
  if (service == nullptr) {
    return Misused("--worker names no worker: " + options.worker, err);
  }
  if (options.address.empty()) return Misused("--address is empty", err);
  if (options.deadline_ms < 0) return Misused("--deadline_ms is negative", err);

  grpc::ClientContext context;
  if (options.deadline_ms > 0) {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(options.deadline_ms));
  }
  if (command == "decide") {
    return Decide(*service, options, &context, in, out, err);
  }
  if (command == "info") return Info(*service, options, &context, out, err);
  return Health(*service, options, &context, out, err);
}

}  // namespace omni
