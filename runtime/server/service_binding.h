#ifndef OMNI_RUNTIME_SERVER_SERVICE_BINDING_H_
#define OMNI_RUNTIME_SERVER_SERVICE_BINDING_H_

#include <string>

#include "grpcpp/completion_queue.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/async_unary_call.h"
#include "omni/v1/decision.pb.h"

namespace omni {

// One of the generated services CuaS1, OpenJev and Laya, which have the same
// methods on the same messages, as an object: what is generic over them needs
// no template. Thread-safe.
class ServiceBinding {
 public:
  template <typename Response>
  using Responder = grpc::ServerAsyncResponseWriter<Response>;

  virtual ~ServiceBinding() = default;

  virtual grpc::Service* service() = 0;
  // As in the health service: "omni.v1.CuaS1".
  virtual std::string full_name() const = 0;

  virtual void RequestDecide(grpc::ServerContext* context,
                             v1::DecideRequest* request,
                             Responder<v1::DecideResponse>* responder,
                             grpc::ServerCompletionQueue* queue, void* tag) = 0;
  virtual void RequestDecideJson(grpc::ServerContext* context,
                                 v1::DecideJsonRequest* request,
                                 Responder<v1::DecideJsonResponse>* responder,
                                 grpc::ServerCompletionQueue* queue,
                                 void* tag) = 0;
  virtual void RequestGetInfo(grpc::ServerContext* context,
                              v1::GetInfoRequest* request,
                              Responder<v1::WorkerInfo>* responder,
                              grpc::ServerCompletionQueue* queue,
                              void* tag) = 0;
};

// `Service` is one of the three generated classes.
template <typename Service>
class ServiceBindingOf final : public ServiceBinding {
 public:
  grpc::Service* service() override { return &service_; }
  std::string full_name() const override {
    return Service::service_full_name();
  }
  void RequestDecide(grpc::ServerContext* context, v1::DecideRequest* request,
                     Responder<v1::DecideResponse>* responder,
                     grpc::ServerCompletionQueue* queue, void* tag) override {
    service_.RequestDecide(context, request, responder, queue, queue, tag);
  }
  void RequestDecideJson(grpc::ServerContext* context,
                         v1::DecideJsonRequest* request,
                         Responder<v1::DecideJsonResponse>* responder,
                         grpc::ServerCompletionQueue* queue,
                         void* tag) override {
    service_.RequestDecideJson(context, request, responder, queue, queue, tag);
  }
  void RequestGetInfo(grpc::ServerContext* context, v1::GetInfoRequest* request,
                      Responder<v1::WorkerInfo>* responder,
                      grpc::ServerCompletionQueue* queue, void* tag) override {
    service_.RequestGetInfo(context, request, responder, queue, queue, tag);
  }

 private:
  typename Service::AsyncService service_;
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_SERVICE_BINDING_H_
